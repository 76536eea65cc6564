import { guestError } from "./errors.ts";
import { type CoreModule, engine } from "./webassembly.ts";

export { GuestTrap, NoRoom } from "./errors.ts";
export { Instance } from "./instance.ts";
export { type CallOutcome, type LocalCall, runCall, type Wait } from "./run-call.ts";
export type { CoreModule } from "./webassembly.ts";

/** Throws GuestTrap. */
export function compile(bytes: Uint8Array): CoreModule {
  try {
    return new engine.Module(bytes);
  } catch (thrown) {
    throw guestError(thrown);
  }
}
