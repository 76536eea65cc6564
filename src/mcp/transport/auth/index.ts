export { type ApiKey, hashApiKey } from "./api-key.ts";
export { type AuthOptions, type Authenticator, authenticator } from "./authenticator.ts";
export { type ChallengeContext, challengeContext, metadataUrlOf, refuseToken, withMetadata } from "./challenge.ts";
export type { TrustedIssuer } from "./issuer.ts";
export type { KeySource } from "./issuer.ts";
export type { Refused, Verdict, Verified } from "./verdict.ts";
export { verdictOn } from "./verdict.ts";
