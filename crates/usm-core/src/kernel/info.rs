//! What is known about a kernel.

/// Facts about a kernel on the device it was built for; read once, when the kernel is looked up.
///
/// The facts about sub-groups are 0 on devices of other vendors than Intel: some drivers, such as PoCL's, end the process when
/// they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Number of arguments.
    pub num_args: usize,
    /// Largest work-group of this kernel, in work-items.
    pub work_group_size: usize,
    /// A number of which a work-group's size is preferred to be a multiple.
    pub preferred_work_group_size_multiple: usize,
    /// Private memory that a work-item uses at least, in bytes.
    pub private_mem_bytes: usize,
    /// Most sub-groups in a work-group.
    pub max_num_sub_groups: u32,
    /// Largest sub-group, in work-items.
    pub max_sub_group_size: u32,
    /// Sub-groups in a work-group as the kernel's code demands them; 0 if it does not.
    pub compile_num_sub_groups: u32,
    /// Work-items in a sub-group as the kernel's code demands them; 0 if it does not.
    pub compile_sub_group_size: u32,
    /// Registers of a work-item, where the backend reports them; else 0.
    pub registers: u32,
}

impl KernelInfo {
    /// A kernel with that many arguments and that largest work-group, of which nothing else is known. A backend sets what it
    /// knows.
    #[must_use]
    pub const fn new(num_args: usize, work_group_size: usize) -> Self {
        Self {
            num_args,
            work_group_size,
            preferred_work_group_size_multiple: 1,
            private_mem_bytes: 0,
            max_num_sub_groups: 0,
            max_sub_group_size: 0,
            compile_num_sub_groups: 0,
            compile_sub_group_size: 0,
            registers: 0,
        }
    }
}
