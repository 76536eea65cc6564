import type { Bag } from "../../core/contract/index.ts";

/** What the platform names its ways: REST APIs (payload 1.0), HTTP APIs and function URLs (2.0), load balancers. */
export type EventKind = "rest" | "http" | "alb";

/** What an event says, whichever way it came: nothing of it is decoded or believed yet. */
export interface Arrived {
  readonly kind: EventKind;
  readonly method: string;
  readonly path: string;
  /** As it stood in the URL, without the question mark. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  readonly base64: boolean;
  /** The name the request came to, as the platform says; a load balancer does not. */
  readonly domain?: string;
  readonly sourceIp?: string;
  readonly requestId?: string;
  /** What an authorizer of the gateway's left; absent where none was asked. */
  readonly authorizer?: Bag;
  /** Answers have lists of values: what a load balancer wants where it sends them. */
  readonly multiValue: boolean;
}

/** Of the runtime's second argument, what is used here. */
export interface LambdaContext {
  readonly awsRequestId?: string;
  getRemainingTimeInMillis?(): number;
}
