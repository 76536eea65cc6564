/** Theater's management protocol: frames, both codecs, commands and responses. For the server and for clients. */
export { byteListLength } from "./byte-lists.ts";
export { isSha1, printEvent, readEvent } from "./chain-event.ts";
export { type Codec, WireReader, WireWriter } from "./codec.ts";
export { type Command, type ActorCommandName, printCommand, readCommand } from "./commands.ts";
export { type Fault } from "./errors.ts";
export { type Participant } from "./participant.ts";
export { type Printable, printJson, printPieces } from "./print-json.ts";
export { printResponse } from "./print-response.ts";
export { readResponse } from "./read-response.ts";
export { type Answer, type Push, type Response } from "./responses.ts";
export { WireError } from "./wire-error.ts";
export { readWireJson, type WireValue } from "./wire-json.ts";
export { WIRE_LIMITS, type WireLimits } from "./wire-limits.ts";
