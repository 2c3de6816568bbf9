//! Runs the models.

use pool_model as models;

macro_rules! run {
    ($($($path:ident)::+),* $(,)?) => {
        $(run! { @one $($path)::+ })*
    };
    (@one $name:ident) => {
        #[test]
        fn $name() {
            models::$name();
        }
    };
    (@one $module:ident::$name:ident) => {
        #[test]
        fn $name() {
            models::$module::$name();
        }
    };
}

run! {
    each_slot_has_one_owner_at_a_time,
    what_a_thread_caches_is_reclaimed_by_others,
    a_slab_goes_when_none_of_its_buffers_is_left,
    a_pool_goes_beside_its_last_buffers,
    a_pool_goes_after_work_that_is_pending,
    the_next_owner_comes_after_work_that_is_pending,
    holders::the_last_of_three_holders_frees_what_all_have_left,
    holders::holders_are_made_while_others_go,
    holders::memory_that_comes_back_finds_a_block_or_none,
    holders::a_block_that_is_alone_stays_so,
}
