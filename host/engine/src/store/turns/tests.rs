//! Tests that turns come one at a time, in order of arrival, and that a process that has ended holds no turn.

use super::*;
use std::time::Instant;

/// Simulates several processes. Each of them has opened the file separately.
fn stores<const N: usize>(directory: &Path) -> [Turns; N] {
    std::array::from_fn(|_| Turns::open(&directory.join("db-turns")).unwrap())
}

async fn soon<T>(what: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(50), what).await.ok()
}

#[tokio::test]
async fn one_process_at_a_time_has_the_turn_of_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let (a, b) = (one.turn_queue("s"), other.turn_queue("s"));
    let turn = a.turn().await.unwrap();
    assert!(soon(b.turn()).await.is_none());
    // Another session does not wait.
    let elsewhere = other.turn_queue("another").turn().await.unwrap();
    drop(turn);
    let turn = b.turn().await.unwrap();
    assert!(soon(a.turn()).await.is_none());
    drop((turn, elsewhere));
    assert!(soon(a.turn()).await.is_some());
}

#[tokio::test]
async fn a_handle_learns_whether_another_one_had_a_turn_since_its_last() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let (a, b, beside) = (one.turn_queue("s"), other.turn_queue("s"), one.turn_queue("s"));
    let mut told = Vec::new();
    for line in [&a, &a, &b, &a, &a, &beside, &a, &b, &b] {
        told.push(line.turn().await.unwrap().is_stale);
    }
    assert_eq!(told, [true, false, true, true, false, true, true, true, false]);
    // The same is true without a file.
    let memory = Turns::default();
    let (a, b) = (memory.turn_queue("s"), memory.turn_queue("s"));
    let mut told = Vec::new();
    for line in [&a, &a, &b, &a] {
        told.push(line.turn().await.unwrap().is_stale);
    }
    assert_eq!(told, [true, false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_come_in_order_of_arrival() {
    let directory = tempfile::tempdir().unwrap();
    let processes: [Turns; 5] = stores(directory.path());
    let lines: Vec<Arc<TurnQueue>> = processes.iter().map(|turns| Arc::new(turns.turn_queue("s"))).collect();
    let first = lines[0].turn().await.unwrap();
    let place = lines[0].place << TICKET_BITS;
    let had = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(1) {
        let (line, had) = (Arc::clone(line), Arc::clone(&had));
        waiting.push(tokio::spawn(async move {
            let _turn = line.turn().await.unwrap();
            had.lock().unwrap().push(number);
        }));
        // Wait until the task has its ticket.
        let byte = place + 1 + number as u64;
        let began = Instant::now();
        while processes[0].file.as_ref().unwrap().first_locked(byte, byte + 1).unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(30));
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
    drop(first);
    for task in waiting {
        task.await.unwrap();
    }
    assert_eq!(*had.lock().unwrap(), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_waiter_that_gives_up_or_is_gone_leaves_no_ticket_behind() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other, third] = stores(directory.path());
    let (a, b, c) = (one.turn_queue("s"), other.turn_queue("s"), third.turn_queue("s"));
    let turn = a.turn().await.unwrap();
    assert!(soon(b.turn()).await.is_none(), "it is given up while it waits");
    drop(turn);
    let _turn = soon(c.turn()).await.expect("nobody is before it").unwrap();
}

#[test]
fn a_process_is_alive_as_long_as_its_file_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let number = one.alive().unwrap();
    assert_eq!(one.alive().unwrap(), number);
    assert!(one.is_alive(number).unwrap() && other.is_alive(number).unwrap());
    drop(one);
    assert!(!other.is_alive(number).unwrap());
}

#[tokio::test]
async fn a_ticket_that_is_kept_lets_the_next_event_in_without_a_lock_and_no_other_process() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let (a, beside, b) = (one.turn_queue("s"), one.turn_queue("s"), other.turn_queue("s"));
    one.keep();
    let first = a.turn().await.unwrap();
    let byte = first._ticket.byte;
    drop(first);
    let second = a.turn().await.unwrap();
    assert_eq!((second._ticket.byte, second._ticket.was_kept, second.is_stale), (byte, true, false));
    drop(second);
    let third = beside.turn().await.unwrap();
    assert_eq!((third._ticket.byte, third.is_stale, third.is_after_another_store), (byte, true, false));
    drop(third);
    assert!(soon(b.turn()).await.is_none(), "it is kept");
    one.give_back();
    let turn = soon(b.turn()).await.expect("it was given back").unwrap();
    assert!(turn.is_stale && turn.is_after_another_store);
    drop(turn);
    // From then on, no ticket is kept.
    drop(soon(a.turn()).await.unwrap().unwrap());
    assert!(soon(b.turn()).await.is_some());
}

#[tokio::test]
async fn who_came_after_a_ticket_that_is_kept_is_before_the_next_event() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let (a, b) = (one.turn_queue("s"), other.turn_queue("s"));
    one.keep();
    drop(a.turn().await.unwrap());
    let mut came = pin!(b.turn());
    assert!(soon(came.as_mut()).await.is_none());
    // The waiting event of the other process is noticed although no ticket was given back.
    let mut next = pin!(a.turn());
    assert!(soon(next.as_mut()).await.is_none());
    let turn = soon(came).await.expect("its turn").unwrap();
    assert!(soon(next.as_mut()).await.is_none());
    drop(turn);
    assert!(soon(next).await.expect("its turn").unwrap().is_after_another_store);
}

#[tokio::test]
async fn a_ticket_that_is_kept_ends_with_its_process_and_none_is_kept_while_others_of_it_wait() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = stores(directory.path());
    let b = other.turn_queue("s");
    {
        let (a, beside) = (one.turn_queue("s"), one.turn_queue("s"));
        one.keep();
        let turn = a.turn().await.unwrap();
        let mut waits = pin!(beside.turn());
        assert!(soon(waits.as_mut()).await.is_none());
        drop(turn);
        drop(waits.await.unwrap());
        assert!(soon(b.turn()).await.is_none(), "the last of them keeps it");
    }
    drop(one);
    assert!(soon(b.turn()).await.is_some());
}
