/** A stage over a Theater server, by its TCP management protocol. */
export { remoteStage } from "./remote-stage.ts";
export type { RemoteOptions } from "./options.ts";
