//! What a test sees of any server here, and how it has requests go wrong: the same of each,
//! whatever its API. Every wait is bounded and wakes by notification.

/// Gives the handle `$server` what every one has. `$sent` is where the bot's messages are in what
/// the server knows; `$checked` returns a target as the server takes it.
macro_rules! observed {
    ($server:ident, $($sent:ident).+, $checked:path) => {
        impl $server {
            /// Every request so far (the latest 100 000), in the order of arrival.
            pub fn journal(&self) -> Vec<$crate::exchange::RequestRecord> {
                self.state.read(|inner| inner.exchanges.journal.records.iter().cloned().collect())
            }

            /// The requests of a target so far.
            pub fn requests(
                &self,
                target: impl Into<$crate::exchange::Target>,
            ) -> Vec<$crate::exchange::RequestRecord> {
                let target = $checked(target.into());
                self.state.read(|inner| inner.exchanges.journal.matching(&target).cloned().collect())
            }

            /// The bot's messages in the order of sending, with edits applied; deleted ones are
            /// marked.
            pub fn sent_messages(&self) -> Vec<SentMessage> {
                self.state.read(|inner| inner.$($sent).+.clone())
            }

            /// The most requests of a method (or downloads) that were under way at once; a target's
            /// parameters do not count here.
            pub fn max_concurrent(&self, target: impl Into<$crate::exchange::Target>) -> usize {
                let kind = $checked(target.into()).kind().clone();
                self.state.read(|inner| inner.exchanges.journal.most_under_way(Some(kind)))
            }

            /// The first message that the predicate accepts, past ones included. Edits count: it
            /// sees every message as it is now.
            ///
            /// # Errors
            /// After the timeout, with a list of what there was instead.
            pub async fn wait_for_message(
                &self,
                timeout: std::time::Duration,
                mut accept: impl FnMut(&SentMessage) -> bool,
            ) -> anyhow::Result<SentMessage> {
                let look = |inner: &Inner| inner.$($sent).+.iter().find(|message| accept(message)).cloned();
                self.state.wait("matching message", timeout, look).await
            }

            /// All messages, once there are at least so many.
            ///
            /// # Errors
            /// After the timeout, with a list of what there was instead.
            pub async fn wait_for_messages(
                &self,
                timeout: std::time::Duration,
                count: usize,
            ) -> anyhow::Result<Vec<SentMessage>> {
                let what = format!("{count} messages");
                let look = |inner: &Inner| (inner.$($sent).+.len() >= count).then(|| inner.$($sent).+.clone());
                self.state.wait(&what, timeout, look).await
            }

            /// The first request of a target, past ones included; received, perhaps not yet
            /// answered.
            ///
            /// # Errors
            /// After the timeout, with a list of what there was instead.
            pub async fn wait_for_request(
                &self,
                timeout: std::time::Duration,
                target: impl Into<$crate::exchange::Target>,
            ) -> anyhow::Result<$crate::exchange::RequestRecord> {
                let mut requests = self.wait_for_requests(timeout, target, 1).await?;
                Ok(requests.swap_remove(0))
            }

            /// The requests of a target, once there are at least so many since the start.
            ///
            /// # Errors
            /// After the timeout, with a list of what there was instead.
            pub async fn wait_for_requests(
                &self,
                timeout: std::time::Duration,
                target: impl Into<$crate::exchange::Target>,
                count: usize,
            ) -> anyhow::Result<Vec<$crate::exchange::RequestRecord>> {
                let target = $checked(target.into());
                let what = format!("{count} requests of {target:?}");
                let look = |inner: &Inner| {
                    let journal = &inner.exchanges.journal;
                    (journal.matching(&target).count() >= count).then(|| journal.matching(&target).cloned().collect())
                };
                self.state.wait(&what, timeout, look).await
            }

            /// Returns once no request of a method (or download) is under way: clients have their
            /// answers or have gone. A target's parameters do not count here.
            ///
            /// # Errors
            /// After the timeout, with a list of what there was instead.
            pub async fn wait_until_idle(
                &self,
                timeout: std::time::Duration,
                target: impl Into<$crate::exchange::Target>,
            ) -> anyhow::Result<()> {
                let kind = $checked(target.into()).kind().clone();
                let what = format!("end of all requests of {kind:?}");
                let look = |inner: &Inner| (inner.exchanges.journal.under_way_now(&kind) == 0).then_some(());
                self.state.wait(&what, timeout, look).await
            }

            /// The next `times` requests of the target go wrong in this way. Faults of the same
            /// target take their turns in the order of planning; `usize::MAX` means until cleared.
            pub fn fault(
                &self,
                target: impl Into<$crate::exchange::Target>,
                times: usize,
                fault: $crate::exchange::Fault,
            ) {
                let target = $checked(target.into());
                self.state.change(|inner| inner.exchanges.faults.add(target, times, fault));
            }

            /// Takes back every fault that has not happened.
            pub fn clear_faults(&self) {
                self.state.change(|inner| inner.exchanges.faults.clear());
            }

            /// How many requests are still to go wrong: zero tells that all planned faults have
            /// happened.
            pub fn remaining_faults(&self) -> usize {
                self.state.read(|inner| inner.exchanges.faults.remaining())
            }

            /// Holds the next request of the target at this point. One gate holds one request.
            pub fn gate(
                &self,
                target: impl Into<$crate::exchange::Target>,
                hold: $crate::exchange::Hold,
            ) -> $crate::exchange::Gate {
                let target = $checked(target.into());
                self.state.change(|inner| inner.exchanges.gates.add(target, hold))
            }
        }
    };
}

pub(crate) use observed;
