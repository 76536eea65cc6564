// The contract of session stores holds on DynamoDB.
import { after } from "node:test";
import { dynamoSessionStores } from "troupe/dynamo";
import { SimulatedClock } from "troupe/testing";
import { sessionSuite, streamSuite } from "troupe/conformance";
import { startDynamo } from "./tables.ts";

const dynamo = await startDynamo();
after(() => dynamo[Symbol.asyncDispose]());

// The suite opens stores synchronously, so their tables are created in advance, one pair per test.
const pairs = await Promise.all(Array.from({ length: 16 }, () => dynamo.tables()));
const place = () => {
  const tables = pairs.pop() ?? { client: dynamo.client };
  return { ...tables, clock: new SimulatedClock(1_000) };
};

sessionSuite("the DynamoDB session store", {
  durable: true,
  place() {
    const options = place();
    return { open: () => dynamoSessionStores({ ...options, sweep: true }).sessions, [Symbol.dispose]: () => undefined };
  },
});

streamSuite("the DynamoDB stream store", () => {
  const options = place();
  return { open: (bounds) => dynamoSessionStores({ ...options, bounds }).streams, [Symbol.dispose]: () => undefined };
});
