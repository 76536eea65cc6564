// What came back of an import, as text: "ok", "ok <value>", "ok none", "err <message>".
import { text } from "../../../../examples/wasm/lib/abi";

function textAt(place: usize): string {
  return text(load<usize>(place), load<usize>(place + 4));
}

function failure(back: usize, payload: usize): string {
  return "err " + textAt(back + payload);
}

export function unit(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 4) : "ok";
}

export function listed(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 4) : "ok " + textAt(back + 4);
}

export function bool(back: usize): string {
  if (load<u8>(back) != 0) return failure(back, 4);
  return load<u8>(back + 4) != 0 ? "ok true" : "ok false";
}

export function u64Of(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 8) : "ok " + load<u64>(back + 8).toString();
}

export function f64Of(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 8) : "ok " + load<f64>(back + 8).toString();
}

/** Of a result of an option. */
export function optional(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 4) : option(back + 4);
}

export function option(place: usize): string {
  return load<u8>(place) != 0 ? "ok " + textAt(place + 4) : "ok none";
}

/** A line each. */
export function strings(place: usize): string {
  const first = load<usize>(place);
  const many = load<usize>(place + 4);
  let out = "ok ";
  for (let i: usize = 0; i < many; i++) out += (i == 0 ? "" : "\n") + textAt(first + i * 8);
  return out;
}

export function listOfStrings(back: usize): string {
  return load<u8>(back) != 0 ? failure(back, 4) : strings(back + 4);
}

/** `name=value`, a line each. */
export function pairs(place: usize): string {
  const first = load<usize>(place);
  const many = load<usize>(place + 4);
  let out = "ok ";
  for (let i: usize = 0; i < many; i++) out += (i == 0 ? "" : "\n") + textAt(first + i * 16) + "=" + textAt(first + i * 16 + 8);
  return out;
}

/** Type and data of each event, a line each. */
export function chain(back: usize): string {
  const first = load<usize>(back);
  const many = load<usize>(back + 4);
  let out = "ok ";
  for (let i: usize = 0; i < many; i++) out += (i == 0 ? "" : "\n") + textAt(first + i * 40 + 8) + " " + textAt(first + i * 40 + 32);
  return out;
}

/** The same, of a child's. */
export function childEvents(back: usize): string {
  if (load<u8>(back) != 0) return failure(back, 4);
  const first = load<usize>(back + 4);
  const many = load<usize>(back + 8);
  let out = "ok ";
  for (let i: usize = 0; i < many; i++) out += (i == 0 ? "" : "\n") + textAt(first + i * 48 + 20) + " " + textAt(first + i * 48 + 28);
  return out;
}

/** Exit code, then what was printed. */
export function command(back: usize): string {
  if (load<u8>(back) != 0) return failure(back, 4);
  if (load<u8>(back + 4) != 0) return "err " + textAt(back + 8);
  return "ok " + load<i32>(back + 24).toString() + " " + textAt(back + 8) + textAt(back + 16);
}

/** Status, then body. */
export function http(back: usize): string {
  if (load<u8>(back) != 0) return failure(back, 4);
  const body = load<u8>(back + 16) != 0 ? textAt(back + 20) : "";
  return "ok " + load<u16>(back + 4).toString() + " " + body;
}
