//! What every channel shows alike, held once against each: one table, a row a behaviour, a test for
//! each channel of the row.
//!
//! A channel that cannot show a behaviour says so in the row, and names what holds in its place,
//! which is tested as well. How a channel joins: `docs/writing-a-channel.md`. What is one channel's
//! own is in `telegram`, `discord` and `cli::chat`.

mod approvals;
mod bot;
mod channel;
mod endings;
mod files;
mod messages;
mod people;
mod terminal;

/// The channels, by the names that the table has for them.
mod channels {
    use super::bot::Bot;
    use support::platform::{Discord, Telegram};

    pub(super) mod telegram {
        pub(in super::super) type Tested = super::Bot<super::Telegram>;
    }
    pub(super) mod discord {
        pub(in super::super) type Tested = super::Bot<super::Discord>;
    }
    pub(super) mod terminal {
        pub(in super::super) type Tested = super::super::terminal::Chat;
    }
}

/// A test for each channel of each row. In `NAME cannot: "WHY", so TEST` the test is of what holds
/// instead.
macro_rules! every_channel {
    ($( $room:ident::$behaviour:ident { $($channel:ident),+ $(; $other:ident cannot: $why:literal, so $instead:ident)? } )+) => {
        $( mod $behaviour {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
                async fn $channel() -> anyhow::Result<()> {
                    super::$room::$behaviour::<super::channels::$channel::Tested>().await
                }
            )+
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
                async fn $other() -> anyhow::Result<()> {
                    use anyhow::Context;
                    super::$other::$instead().await.context($why)
                }
            )?
        } )+
    };
}

every_channel! {
    messages::a_message_has_one_reply { telegram, discord, terminal }
    messages::messages_have_a_turn_each_in_their_order { telegram, discord, terminal }
    messages::an_event_that_comes_again_is_the_same_turn {
        telegram, discord; terminal cannot: "a line has no number", so a_line_typed_twice_is_two_messages
    }
    messages::a_command_runs_and_its_call_is_audited { telegram, discord, terminal }
    messages::a_command_that_is_unknown_is_told { telegram, discord, terminal }
    messages::a_long_answer_comes_in_parts_that_read_as_one {
        telegram, discord; terminal cannot: "nothing limits a text there", so a_long_answer_is_shown_whole
    }
    messages::no_secret_is_repeated { telegram, discord, terminal }
    people::a_stranger_is_told_how_to_pair_and_nothing_of_theirs_runs {
        telegram, discord; terminal cannot: "the account that types is the operator", so the_account_that_types_is_the_sender
    }
    files::a_file_that_came_is_saved { telegram, discord, terminal }
    files::a_file_is_sent_back { telegram, discord, terminal }
    approvals::a_call_is_asked_about_and_runs_when_it_is_approved { telegram, discord, terminal }
    approvals::a_call_that_is_refused_does_not_run { telegram, discord, terminal }
    endings::what_runs_can_be_cancelled { telegram, discord, terminal }
    endings::a_kill_before_the_reply_leaves_exactly_one {
        telegram, discord; terminal cannot: "its messages are kept nowhere", so a_kill_leaves_nothing_half_done
    }
    endings::a_stop_in_the_middle_is_finished_by_the_next_start {
        telegram, discord; terminal cannot: "a chat ends with its process", so a_stop_cancels_what_runs
    }
}
