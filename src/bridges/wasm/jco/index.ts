export { type ComponentReaderOptions, createComponentReader } from "./component-reader.ts";
