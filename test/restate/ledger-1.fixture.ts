export { first as default } from "./ledger.fixture.ts";
