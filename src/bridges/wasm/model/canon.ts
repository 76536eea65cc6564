import type { Reader } from "../binary/reader.ts";
import type { CanonOptions, CoreItem } from "./entities.ts";
import { type Scope, needsJco } from "./scope.ts";

const LIFT = 0x00;
const LOWER = 0x01;
const RESOURCES = new Set([0x02, 0x03, 0x04]);

function options(reader: Reader, scope: Scope): CanonOptions {
  const found: { memory?: CoreItem; realloc?: CoreItem; post?: CoreItem } = {};
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const option = reader.u8();
    if (option === 0x00) continue;
    else if (option === 0x01 || option === 0x02) throw needsJco("Its strings are not UTF-8");
    else if (option === 0x03) found.memory = scope.core(reader, "memory");
    else if (option === 0x04) found.realloc = scope.core(reader, "func");
    else if (option === 0x05) found.post = scope.core(reader, "func");
    else if (option <= 0x09) throw needsJco("It has asynchronous functions, or such that return garbage-collected objects");
    else throw reader.bad(`${option} is no option of the canonical ABI`);
  }
  return found;
}

/** Adds the function that one canonical definition makes. */
export function canon(reader: Reader, scope: Scope): void {
  const code = reader.u8();
  if (code === LIFT || code === LOWER) {
    if (reader.u8() !== 0) throw reader.bad("it lifts or lowers what is no function");
    if (code === LOWER) {
      const lowered = scope.entity(reader, "func");
      scope.addCore(reader, { sort: "func", lowered, options: options(reader, scope) });
      return;
    }
    const lifted = { core: scope.core(reader, "func"), options: options(reader, scope) };
    const { is } = scope.entity(reader, "type");
    if (!("func" in is)) throw reader.bad("it lifts to a type that is no function's");
    scope.add(reader, { sort: "func", signature: is.func, lifted });
    return;
  }
  if (!RESOURCES.has(code)) throw needsJco(`It uses the canonical built-in ${code}`);
  scope.entity(reader, "type");
  scope.addCore(reader, { sort: "func", builtin: "of a resource" });
}
