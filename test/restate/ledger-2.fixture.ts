export { second as default } from "./ledger.fixture.ts";
