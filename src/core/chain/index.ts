/** Chains: reading, checking, storing and forking them. What engines make turns of is in `internal.ts`. */
export { causeTree, rootCause, type Cause, type CauseLookup } from "./causes.ts";
export { type DumpOptions, type DumpProgress, noProgress, readDump, writeDump } from "./dump.ts";
export { type DumpCounts } from "./dump-lines.ts";
export { isRedacted, secretsIn, withoutSecrets } from "./redaction.ts";
export { exportLine, importLine, readBody, readHeader, sha256 } from "./event.ts";
export { apply, diff } from "./patch.ts";
export { reexecute, Reexecuting, type Mismatch, type Reexecution } from "./reexecute.ts";
export { type Difference, diffStates, stateAt, stateFrom, type VersionedState } from "./replay.ts";
export {
  checkpointEntry,
  checkSignature,
  editEntry,
  type EditOptions,
  forkEntry,
  type ForkOptions,
  signingKey,
  type Stamped,
  type RevertOptions,
  revertEntry,
} from "./operator-entries.ts";
export { type Flaw, type FlawCode, Verifier, verify, verifyStream, type Verdict, type VerifyOptions } from "./verify.ts";
