/** Chains, for whoever reads, checks, keeps or forks them. What engines make turns of is in `internal.ts`. */
export { apply } from "./apply.ts";
export { causeTree, rootCause, type Cause, type CauseLookup } from "./causes.ts";
export { checkpointEntry, checkSignature, signingKey, type Stamped } from "./checkpoint.ts";
export { diff } from "./diff.ts";
export { type DumpCounts } from "./dump-format.ts";
export { type DumpProgress, noProgress, readDump } from "./dump-read.ts";
export { type DumpOptions, writeDump } from "./dump-write.ts";
export { readBody, readHeader, sha256 } from "./event.ts";
export { exportLine, importLine } from "./export.ts";
export { forkEntry, type ForkOptions } from "./fork.ts";
export { diffStates, stateAt, type Difference } from "./history.ts";
export { isRedacted, secretsIn, withoutSecrets } from "./redact.ts";
export { reexecute, Reexecuting, type Mismatch, type Reexecution } from "./reexecute.ts";
export { stateFrom, type Told } from "./state.ts";
export { type Flaw, type FlawCode, Verifier, verify, verifyStream, type Verdict, type VerifyOptions } from "./verify.ts";
