//! What every storage engine is held to. A second one is held to it by one more line here.

mod approvals;
mod calls;
mod edits;
mod inbox;
mod lines;
mod outbox;
mod runs;
mod several;
mod steering;
mod streams;
mod voices;
pub(super) mod waits;

use super::*;

macro_rules! conformance {
    ($engine:ident: $check:ident => $($suite:ident { $($name:ident)+ })+) => {
        mod $check {
            use super::super::$engine;

            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if <$engine as super::Engine>::is_there(stringify!($name)) {
                        super::$suite::$name::<$engine>().await;
                    }
                }
            )+)+
        }
    };
    ($engine:ident: $check:ident) => {
        conformance! { $engine: $check =>
            inbox {
                a_known_update_is_never_taken_twice
                a_bound_turn_has_the_same_members_after_a_crash
                dismissed_parts_join_a_later_part_that_carries_the_command
                of_many_who_claim_at_once_one_does
                a_claim_whose_answer_was_lost_is_made_again_once
                strangers_are_told_once_and_their_words_are_not_kept
                a_crowd_of_strangers_is_told_slowly
                attempts_are_counted_until_the_turn_ends
                a_turn_begins_once_however_often_it_crashes
                what_is_done_is_forgotten_by_age_and_what_waits_is_not
                text_comes_back_to_the_byte
                what_waits_is_found_session_by_session
                what_has_just_come_is_found_behind_all_that_waits
            }
            edits {
                an_edit_changes_only_what_waits
                a_message_and_its_edit_may_come_together
                a_move_is_remembered_for_its_channel
                a_stranger_is_told_again_only_of_something_new
                one_stranger_is_told_so_often_and_no_more
                what_is_told_unasked_is_told_once
            }
            steering {
                what_steers_is_addressed_to_what_its_session_is_at
                it_is_taken_up_with_its_line_once
                of_many_who_take_it_up_at_once_one_does
                an_album_is_taken_up_as_a_whole_or_not_at_all
                what_is_not_taken_up_waits_in_its_place
                its_files_are_the_most_recent_ones
            }
            voices {
                what_was_heard_is_known_until_the_turn_ends
                who_is_spoken_to_stays_so
                choices_that_stay_are_known
            }
            outbox {
                only_unsent_parts_come_back
                what_is_said_in_place_of_a_part_has_its_place_after_a_restart
                blobs_are_in_use_from_the_call_until_the_reply_is_out
                the_last_files_of_each_person_in_each_conversation_are_known_after_a_restart
                a_placeholder_is_known_until_its_turn_ends
                what_is_handed_over_is_there_once_and_in_order
                blobs_are_kept_for_a_retry_until_it_is_over
                blobs_of_turns_that_nobody_knows_are_let_go
            }
            approvals {
                an_approval_waits_through_restarts_and_is_decided_once
                of_many_who_decide_at_once_one_does
                an_answer_that_comes_too_late_is_none
                what_a_call_asks_now_withdraws_what_it_asked_before
                what_was_denied_is_asked_anew_once_its_run_is_opened_again
                an_approval_follows_a_clock_that_is_set
                the_time_of_an_approval_begins_anew_until_it_is_shown
                what_a_turn_has_asked_is_withdrawn_with_its_end
                approved_paths_are_each_persons_and_tools_own_and_forgotten_in_time
                a_path_that_is_too_long_to_be_remembered_holds_nothing_up
            }
            calls {
                a_call_is_remembered_with_its_arguments
                what_a_turn_has_written_is_known_after_a_restart
                written_bytes_are_charged_to_whose_turn_it_is_and_once
                calls_that_end_at_once_write_no_more_than_a_day_allows
                what_an_open_turn_has_behind_it_is_kept_at_any_age
                what_a_task_of_an_open_run_has_behind_it_is_kept_at_any_age
            }
            streams {
                a_stream_goes_on_where_its_last_message_was_kept
                a_place_is_known_by_its_last_message_unless_one_before_may_be_missing
                a_place_that_cannot_be_asked_is_known_by_its_last_message_until_it_was
                as_many_places_are_known_as_are_remembered
                a_message_that_is_gone_waits_no_longer
            }
            runs {
                a_run_goes_on_where_it_was_after_a_crash
                a_failed_run_is_taken_up_at_its_first_task_that_is_not_done
                of_many_who_end_a_run_at_once_one_does
                what_a_run_is_at_ends_with_it
                an_end_is_to_be_noted_until_it_is
                so_many_runs_are_open_and_no_more
                so_many_runs_are_listed_and_no_more
                what_is_done_to_a_run_leaves_another_one_as_it_is
                what_has_ended_stays_as_it_ended
            }
            waits {
                a_reply_resolves_a_wait_once_and_is_answered_by_nobody
                a_reply_counts_before_the_id_of_its_message_is_noted
                the_same_words_in_another_message_are_not_the_message
                an_album_is_one_reply_once_all_of_it_has_come
                of_a_reply_a_timeout_and_an_end_one_counts
                a_wait_follows_a_clock_that_is_set
                the_end_of_a_run_is_told_once_where_that_was_promised
                times_follow_the_clock_of_what_waits_in_serve_alone
                schedules_are_looked_at_one_by_one
                a_schedule_of_an_earlier_release_goes_on_where_it_was
                a_clock_that_was_far_ahead_silences_no_schedule
            }
            several {
                of_two_runs_that_ask_the_same_each_has_its_own_reply
                of_two_runs_that_wait_each_has_its_own_end
                a_promise_is_of_one_run_alone
                what_could_not_be_sent_is_sent_anew_when_its_run_is_opened_again
                of_what_was_refused_in_part_the_rest_alone_is_sent_anew
                a_run_that_is_opened_again_does_not_wait_for_what_went_on_without_a_reply
                a_second_wait_for_the_same_message_has_its_own_time
                a_wait_is_of_one_task_that_runs
                a_run_that_is_opened_again_waits_again_and_keeps_what_was_said
                a_reply_is_of_its_channel_and_its_place
                an_album_is_of_its_person_and_channel
            }
            lines {
                lines_come_back_in_order_after_a_restart_and_each_once
                a_line_takes_the_place_of_older_ones
                of_earlier_turns_only_the_latest_are_loaded_and_all_of_the_own
                a_step_is_charged_once_to_its_person_and_day
                what_a_turn_begins_with_is_what_each_look_would_find
            }
        }
    };
}

conformance!(Files: files);
conformance!(Memory: memory);
conformance!(Schema: postgres);
