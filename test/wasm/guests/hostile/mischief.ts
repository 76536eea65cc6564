import { answer, area, failed, putBytes, state, utf8 } from "../../../../examples/wasm/lib/abi";
import { runtimeLog } from "../../../../examples/wasm/lib/imports";
import { CALLS, CROOKED, nextAllocations, nextFinish, OUTSIDE, spin, SPINS, TRAPS } from "./heap";

const PAGE: usize = 65536;
const MANY = 1_000_000;
const HUGE = 16 * 1024 * 1024;
const OUT: usize = 0xffff_fff0;

let touched = 0;

function deeper(n: i32): i32 {
  touched++;
  return deeper(n + 1) + deeper(n + touched);
}

/** Until it is refused. */
function grow(): void {
  while (memory.grow(16) >= 0) touched++;
  while (memory.grow(1) >= 0) touched++;
}

function touch(): void {
  const end = <usize>memory.size() * PAGE;
  for (let at: usize = end - PAGE; at > PAGE; at -= PAGE) store<u8>(at, 1);
}

/** Where a result goes, of a success, with a state that is said to be there. */
function claimed(at: usize, length: usize): usize {
  const back = area(32);
  store<u8>(back + 4, 1);
  store<usize>(back + 8, at);
  store<usize>(back + 12, length);
  return back;
}

function badText(length: i32): ArrayBuffer {
  const text = new ArrayBuffer(length);
  memory.fill(changetype<usize>(text), 0xff, length);
  return text;
}

function log(text: ArrayBuffer): void {
  runtimeLog(changetype<usize>(text), text.byteLength);
}

function letters(length: i32): ArrayBuffer {
  const text = new ArrayBuffer(length);
  memory.fill(changetype<usize>(text), 0x78, length);
  return text;
}

/** A result, or none. All answers are those of a request: other handlers' are the beginning of it. */
export function mischief(what: i32, rest: usize, restLength: usize, before: ArrayBuffer | null): usize {
  switch (what) {
    case 0x6c: // l
      spin();
      break;
    case 0x6d: // m
      grow();
      touch();
      break;
    case 0x4d: // M
      grow();
      unreachable();
      break;
    case 0x72: // r
      touched = deeper(0);
      break;
    case 0x75: // u
      unreachable();
      break;
    case 0x6f: // o
      touched = load<i32>(OUT);
      break;
    case 0x70: // p
      return OUT;
    case 0x61: // a
      return area(64) + 1;
    case 0x62: // b
      return claimed(OUT, 64);
    case 0x6e: // n
      return claimed(1024, 0xffff_ffff);
    case 0x64: {
      // d
      const back = area(32);
      store<u8>(back, 7);
      return back;
    }
    case 0x44: {
      // D
      const back = area(32);
      store<u8>(back + 4, 7);
      return back;
    }
    case 0x55: // U
      log(badText(64));
      break;
    case 0x65: {
      // e
      const back = area(32);
      store<u8>(back, 1);
      putBytes(back + 4, badText(64));
      return back;
    }
    case 0x67: // g
      log(letters(HUGE));
      break;
    case 0x47: {
      // G
      const line = letters(8);
      for (let i = 0; i < MANY; i++) log(line);
      break;
    }
    case 0x50: // P
      runtimeLog(OUT, 64);
      break;
    case 0x4e: // N
      runtimeLog(1024, 0xffff_ffff);
      break;
    case 0x45: // E
      return failed(String.UTF8.decodeUnsafe(rest, restLength));
    case 0x48: {
      // H
      const back = area(32);
      store<u8>(back, 1);
      putBytes(back + 4, letters(HUGE));
      return back;
    }
    case 0x53: // S
      return state(letters(HUGE));
    case 0x41: // A
      nextAllocations(OUTSIDE);
      break;
    case 0x43: // C
      nextAllocations(CROOKED);
      break;
    case 0x4c: // L
      nextAllocations(SPINS);
      break;
    case 0x56: // V
      nextAllocations(TRAPS);
      break;
    case 0x57: // W
      nextAllocations(CALLS);
      break;
    case 0x58: // X
      nextFinish(SPINS);
      break;
    case 0x59: // Y
      nextFinish(TRAPS);
      break;
    case 0x5a: // Z
      nextFinish(CALLS);
      break;
    case 0x73: {
      // s
      const next = new ArrayBuffer(<i32>restLength);
      memory.copy(changetype<usize>(next), rest, restLength);
      return state(next);
    }
    default:
  }
  return answer(before, utf8("still here"));
}
