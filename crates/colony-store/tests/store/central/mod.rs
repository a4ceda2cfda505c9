//! The suite that both engines have to pass, each case on its own database.

mod catalog;
mod claim;
mod corrupt;
mod event;
mod open;
mod order;
mod row;
mod silence;
mod write;

use crate::database::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_conforms() {
    conforms(&Engine::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_conforms() {
    let mut engine = Engine::postgres();
    conforms(&engine).await;
    open::a_server_that_is_gone_is_told_at_once(&mut engine).await;
}

macro_rules! cases {
    ($engine:expr, $($module:ident::$case:ident,)*) => {
        $($module::$case(&$engine.database(concat!(stringify!($module), "_", stringify!($case))).await).await;)*
    };
}

async fn conforms(engine: &Engine) {
    cases!(
        engine,
        open::a_database_keeps_its_name,
        open::what_was_stored_is_there_after_reopening,
        open::tables_of_a_later_version_are_left_alone,
        claim::one_process_at_a_time_writes,
        claim::a_copy_is_made_without_a_claim,
        row::a_fleet_comes_back_as_it_was,
        row::any_path_names_its_own_row,
        write::a_refused_write_leaves_nothing,
        write::a_broken_part_leaves_nothing,
        write::something_is_used_once,
        write::changes_wait_in_order,
        write::notes_are_found_by_prefix,
        write::readers_do_not_wait_for_a_writer,
        write::a_write_that_was_given_up_has_ended_after_settling,
        event::events_are_filtered_and_cut,
        event::whatever_a_site_says_is_stored,
        event::hashes_of_a_log_are_found,
        catalog::registries_are_kept_by_name,
        catalog::a_registry_that_is_gone_does_not_come_back,
        catalog::packages_are_kept_by_version,
        catalog::tokens_are_found_by_hash,
        corrupt::what_cannot_be_read_is_named,
        order::a_tail_misses_nothing,
    );
}
