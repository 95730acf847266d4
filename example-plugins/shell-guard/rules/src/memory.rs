//! Where a guest's memory comes from. It is made for each event from what `configure` left, so that what counts is how little that is,
//! and how few instructions an allocation takes: blocks of a few sizes, without a word of their own before each, that are put back onto
//! a list of their size. Large ones are the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

/// Maximum size of a block, in bytes.
const MAX_BLOCK: usize = 1024;
/// Alignment of a block, in bytes; what needs more is the system's.
const ALIGNMENT: usize = 8;
/// Size of what blocks are cut from, in bytes.
const CHUNK: usize = 16 * 1024;
/// Up to this size there is a list for every eighth, and then for every sixty-fourth.
const FINE: usize = 256;
const LISTS: usize = FINE / 8 + (MAX_BLOCK - FINE) / 64;

/// Blocks of a guest, which has one thread.
pub(crate) struct Blocks(UnsafeCell<State>);

struct State {
    /// The first free block of each size, which holds the address of the next.
    free: [*mut u8; LISTS],
    /// What no block was cut from.
    rest: *mut u8,
    left: usize,
}

// SAFETY: a guest has one thread; nothing else is built with it but a test, which has it for itself.
unsafe impl Sync for Blocks {}

impl Blocks {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(State { free: [null_mut(); LISTS], rest: null_mut(), left: 0 }))
    }
}

/// The list of blocks for a layout, and their size; nothing where it is the system's.
fn list_of(layout: Layout) -> Option<(usize, usize)> {
    let size = layout.size();
    if size > MAX_BLOCK || layout.align() > ALIGNMENT {
        None
    } else if size <= FINE {
        let eighths = size.div_ceil(8).max(1);
        Some((eighths - 1, eighths * 8))
    } else {
        let parts = (size - FINE).div_ceil(64);
        Some((FINE / 8 + parts - 1, FINE + parts * 64))
    }
}

impl State {
    /// A block of a list. Null where there is no more memory.
    fn take(&mut self, list: usize, size: usize) -> *mut u8 {
        let block = self.free[list];
        if !block.is_null() {
            // SAFETY: a free block holds the address of the next, and is aligned for it.
            self.free[list] = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        if self.left < size {
            // SAFETY: the layout has a size.
            let chunk = unsafe { System.alloc(Layout::new::<[u64; CHUNK / 8]>()) };
            if chunk.is_null() {
                return chunk;
            }
            (self.rest, self.left) = (chunk, CHUNK);
        }
        let block = self.rest;
        // SAFETY: the chunk has so many bytes left.
        self.rest = unsafe { block.add(size) };
        self.left -= size;
        block
    }

    fn put(&mut self, list: usize, block: *mut u8) {
        // SAFETY: nobody uses the block, which has room for an address and is aligned for it.
        unsafe { block.cast::<*mut u8>().write(self.free[list]) };
        self.free[list] = block;
    }
}

// SAFETY: a block is as large and as aligned as its layout says, and is on a list only while nobody has it.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match list_of(layout) {
            // SAFETY: there is one thread, and nothing here calls another of these functions.
            Some((list, size)) => unsafe { &mut *self.0.get() }.take(list, size),
            // SAFETY: as the caller promises.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match list_of(layout) {
            // SAFETY: there is one thread.
            Some((list, _)) => unsafe { &mut *self.0.get() }.put(list, block),
            // SAFETY: as the caller promises.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size, rounded up to the alignment, is one.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (list_of(layout), list_of(wanted)) {
            // SAFETY: as the caller promises.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (before, after) if before == after => block,
            _ => {
                // SAFETY: as the caller promises; both blocks have so many bytes, and are not the same.
                unsafe {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(block, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, CHUNK, MAX_BLOCK, list_of};
    use std::alloc::{GlobalAlloc, Layout};
    use std::collections::BTreeMap;

    #[test]
    fn a_list_has_blocks_that_are_large_enough_and_hardly_larger() {
        let mut before = (0, 8);
        for size in 0..=MAX_BLOCK {
            let (list, block) = list_of(Layout::from_size_align(size, 8).unwrap()).unwrap();
            assert!(
                block >= size && block % 8 == 0 && block - size < 64 && block < size.max(1) * 2 + 8,
                "{size}: {block}"
            );
            assert!((list, block) == before || (list == before.0 + 1 && block > before.1), "{size}: {list}");
            before = (list, block);
        }
        assert_eq!(before, (super::LISTS - 1, MAX_BLOCK));
        assert_eq!(list_of(Layout::from_size_align(MAX_BLOCK + 1, 1).unwrap()), None);
        assert_eq!(list_of(Layout::from_size_align(8, 16).unwrap()), None);
    }

    /// Blocks are taken, grown, shrunk and put back in an order without a system, each full of its own number.
    #[test]
    fn no_block_is_given_twice_and_none_loses_what_it_holds() {
        let blocks = Blocks::new();
        let mut held: BTreeMap<usize, (*mut u8, Layout)> = BTreeMap::new();
        let mut random = 1_u64;
        for step in 0..20_000_usize {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = usize::try_from(random >> 33).unwrap();
            let size = [1 + number % 40, 1 + number % 300, 1 + number % 3000][number % 3];
            let mark = u8::try_from(step % 251).unwrap();
            let slot = number % 200;
            // SAFETY: each block is used with the layout that it has, and put back once.
            unsafe {
                match held.remove(&slot) {
                    None => {
                        let layout = Layout::from_size_align(size, 1 << (number % 5)).unwrap();
                        let block = blocks.alloc(layout);
                        assert!(block.addr().is_multiple_of(layout.align()));
                        block.write_bytes(u8::try_from(slot).unwrap(), size);
                        held.insert(slot, (block, layout));
                    }
                    Some((block, layout)) => {
                        let is_whole = |block: *mut u8, size: usize| {
                            (0..size).all(|at| block.add(at).read() == u8::try_from(slot).unwrap())
                        };
                        assert!(is_whole(block, layout.size()));
                        if mark % 2 == 0 {
                            blocks.dealloc(block, layout);
                        } else {
                            let moved = blocks.realloc(block, layout, size);
                            assert!(is_whole(moved, layout.size().min(size)));
                            moved.write_bytes(u8::try_from(slot).unwrap(), size);
                            held.insert(slot, (moved, Layout::from_size_align(size, layout.align()).unwrap()));
                        }
                    }
                }
            }
        }
        for (block, layout) in held.into_values() {
            // SAFETY: the same.
            unsafe { blocks.dealloc(block, layout) };
        }
    }

    #[test]
    fn what_is_put_back_is_taken_again() {
        let blocks = Blocks::new();
        let layout = Layout::from_size_align(100, 8).unwrap();
        // SAFETY: each block is used with the layout that it has, and put back once.
        unsafe {
            let first = blocks.alloc(layout);
            for _ in 0..CHUNK {
                blocks.dealloc(first, layout);
                assert_eq!(blocks.alloc(layout), first);
            }
            assert_eq!(blocks.realloc(first, layout, 97), first, "a block of the same size");
            blocks.dealloc(first, layout);
        }
    }
}
