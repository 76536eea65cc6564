import { WasmError } from "../wasm-error.ts";
import { coreValue } from "./core-types.ts";
import type { Reader } from "./reader.ts";

/** A number takes 16 bytes at most. A reference may be to an exception with all that was thrown with it, and then takes 1,100. */
const NUMBER_BYTES = 16;
const REFERENCE_BYTES = 1_200;
const MAX_REFERENCES = 1_000;

const END = 0x0b;
const F32 = 0x43;
const F64 = 0x44;
const SIMD = 0xfd;
/** With a number behind them: constants, other globals, null, a function, and what makes references to small numbers. */
const WITH_NUMBER: ReadonlySet<number> = new Set([0x41, 0x42, 0x23, 0xd0, 0xd2, 0xfb]);
const ARITHMETIC: ReadonlySet<number> = new Set([0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e]);

/** Any LEB128: the engine that compiles the module checks its value. */
function skipNumber(body: Reader): void {
  while (body.u8() >= 0x80);
}

function skipInitial(body: Reader): void {
  for (let code = body.u8(); code !== END; code = body.u8()) {
    if (WITH_NUMBER.has(code)) skipNumber(body);
    else if (code === F32) body.part(4);
    else if (code === F64) body.part(8);
    else if (code === SIMD) {
      skipNumber(body);
      body.part(16);
    } else if (!ARITHMETIC.has(code)) throw body.bad("the first value of a global is not constant");
  }
}

/** What a section of globals holds outside the memory that is bounded, in bytes. Throws `WasmError`. */
export function globalBytes(body: Reader): number {
  const count = body.count();
  let references = 0;
  for (let left = count; left > 0; left -= 1) {
    if (coreValue(body) === "reference") references += 1;
    body.u8();
    skipInitial(body);
  }
  if (references > MAX_REFERENCES)
    throw new WasmError(
      "MEMORY_LIMIT",
      `The module has ${references} globals that hold references, and it may have ${MAX_REFERENCES}: build it with numbers in its globals.`,
    );
  return count * NUMBER_BYTES + references * REFERENCE_BYTES;
}
