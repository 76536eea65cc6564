import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { FAKE_CREDENTIALS } from "./tables.ts";

export interface Failing {
  readonly client: DynamoDBClient;
  /** How many of the next requests fail. */
  times: number;
  failed: number;
  /** The command whose requests fail; default: any. */
  only: string | undefined;
}

/** A client whose requests can fail with that error, per attempt; `applied`: after they were applied. */
export function failing(endpoint: string, name: string, { applied = false }: { readonly applied?: boolean } = {}): Failing {
  const client = new DynamoDBClient({ endpoint, region: "local", credentials: FAKE_CREDENTIALS, maxAttempts: 3 });
  const made: Failing = { client, times: 0, failed: 0, only: undefined };
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const fails = made.times > 0 && (made.only ?? commandName) === commandName;
        if (fails) {
          made.times -= 1;
          made.failed += 1;
        }
        const answer = !fails || applied ? await next(args) : undefined;
        if (fails || answer === undefined) throw Object.assign(new Error("made to fail"), { name });
        return answer;
      },
    // Below the SDK's retries.
    { step: "finalizeRequest", priority: "low" },
  );
  return made;
}
