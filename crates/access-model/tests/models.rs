//! Runs the models.

use access_model as models;

macro_rules! run {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            models::$name();
        })*
    };
}

run! {
    two_submissions_and_a_host_read,
    the_submissions_of_one_thread_stay_in_their_order,
    memory_is_freed_after_its_operations,
    published_memory_meets_its_import_by_address,
    the_next_owner_of_a_slot_comes_after_the_work_on_it,
    host_code_that_wants_two_buffers_crosswise_comes_to_its_end,
    readers_that_take_one_range_after_the_other_and_writers_come_to_their_ends,
    a_view_is_an_error_for_others_and_hinders_nobody_else,
    of_threads_that_take_two_ranges_crosswise_at_most_one_gets_an_error,
}
