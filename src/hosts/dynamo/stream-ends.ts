import { type AttributeValue, DeleteItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { isMissingTable } from "./faults.ts";
import { expiresAt, type Place } from "./options.ts";

export const headKey = (session: string): Record<string, AttributeValue> => ({ sessionId: { S: session }, item: { S: "head" } });

/** Whether a session's streams take messages: once it has ended none, so that a call that outlives it leaves nothing behind. */
export class StreamEnds {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  close(session: string): Promise<void> {
    const { streamTable, clock, entropy } = this.#place;
    return this.#try(
      new UpdateItemCommand({
        TableName: streamTable,
        Key: headKey(session),
        UpdateExpression: "SET closed = :yes, rev = :rev, expiresAt = :expires REMOVE streams",
        ExpressionAttributeValues: {
          ":yes": { BOOL: true },
          ":rev": { S: entropy.hex(8) },
          ":expires": { N: expiresAt(clock.now(), this.#place) },
        },
      }),
    );
  }

  /** What an earlier session of that id was sent is nothing of this one's. */
  open(session: string): Promise<void> {
    return this.#try(new DeleteItemCommand({ TableName: this.#place.streamTable, Key: headKey(session) }));
  }

  // Who keeps no streams here needs no table for them; who does hears of it from the first message.
  async #try(command: UpdateItemCommand | DeleteItemCommand): Promise<void> {
    const { client } = this.#place;
    try {
      await (command instanceof UpdateItemCommand ? client.send(command) : client.send(command));
    } catch (error) {
      if (!isMissingTable(error)) throw error;
    }
  }
}
