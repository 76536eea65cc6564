import { type SessionStore, type StreamStore, TroupeError } from "../../core/contract/index.ts";

const none = (): Promise<never> =>
  Promise.reject(new TroupeError("DOOR_OPTION", "This server keeps no sessions: give the gateway `sessions` and `streams`."));
const nothing = async (): Promise<void> => undefined;

/** Of a gateway that serves connections only. */
export const noSessions: SessionStore = {
  put: none,
  get: async () => undefined,
  touch: nothing,
  delete: nothing,
  expire: async () => [],
  [Symbol.asyncDispose]: nothing,
};

export const noStreams: StreamStore = { append: none, after: async () => undefined, delete: nothing, [Symbol.asyncDispose]: nothing };
