export { type ApiKey, AUTH, type AuthOptions, type Authenticator, authenticator, hashApiKey, refuseUnaddressed } from "./authenticator.ts";
export type { KeySource, TrustedIssuer } from "./verify-token.ts";
export {
  type ChallengeContext,
  challengeContext,
  metadataUrlOf,
  type Refused,
  refuseToken,
  type Verdict,
  verdictOn,
  type Verified,
  withMetadata,
} from "./verdicts.ts";
