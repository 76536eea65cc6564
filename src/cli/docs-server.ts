// Owns: the documentation as an MCP server: its tools, resources and prompts. Does not own: pages and their search (docs-pages.ts),
// listening (commands/docs.ts).
import { refuse } from "../core/actor/index.ts";
import { closestMatch } from "../core/contract/internal.ts";
import { createServer, type Server, type ServerOptions } from "../mcp/server/index.ts";
import { type Page, readPages, searchIn, sectionText } from "./docs-pages.ts";

const MOST_HITS = 10;
const QUESTION = 300;

const uriOf = (page: string): string => `docs://${page}`;

/** One section of a page; the whole page without a heading. */
const partOf = (page: Page, heading: string | undefined): string => {
  if (heading === undefined) return page.text;
  const text = heading.trim() === "" ? undefined : sectionText(page, heading);
  if (text !== undefined) return text;
  const all = page.sections.map((one) => one.heading).filter((one) => one !== "");
  throw refuse(`The page ${page.name} has no heading ${JSON.stringify(heading)}. It has: ${all.join("; ")}.`);
};

/** The documentation of this version. */
export const docsServer = (version: string, options: ServerOptions = {}): Server => {
  const pages = readPages();
  const byName = new Map(pages.map((page) => [page.name, page]));
  const search = searchIn(pages);
  const pageCalled = (name: string): Page => {
    const bare = name.replace(/^docs:\/\//, "").replace(/\.md$/, "");
    const page = byName.get(bare);
    if (page !== undefined) return page;
    const meant = closestMatch(bare, [...byName.keys()]);
    throw refuse(`There is no page ${JSON.stringify(name)}${meant === undefined ? ": search names pages." : `; do you mean ${meant}?`}`);
  };

  const server = createServer("troupe-docs", version, {
    title: "Troupe documentation",
    instructions:
      "The documentation of Troupe, a TypeScript framework for stateful MCP servers made of durable actors. Call search with a question before you write code with Troupe, then read_page for what it names.",
    ...options,
  });

  server.tools.register(
    {
      name: "search",
      title: "Search Troupe's documentation",
      description: "Finds the pages that answer a question about Troupe. Returns each page's name, its best section, and an excerpt.",
      input: {
        type: "object",
        properties: {
          query: { type: "string", minLength: 1, maxLength: QUESTION, description: "A question, or some words of it" },
          limit: { type: "integer", minimum: 1, maximum: MOST_HITS, description: "How many pages; 5 by default" },
        },
        required: ["query"],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ args }) => {
      const hits = search(args.query, args.limit ?? 5);
      const found = hits.map((hit) => ({ ...hit, uri: uriOf(hit.page) }));
      return hits.length > 0 ? { pages: found } : { pages: found, hint: "No page has these words. Use other words, or fewer." };
    },
  );

  server.tools.register(
    {
      name: "read_page",
      title: "Read a page of Troupe's documentation",
      description: "The Markdown of a page, or of one of its sections.",
      input: {
        type: "object",
        properties: {
          page: { type: "string", minLength: 1, maxLength: 200, description: "The name that search gave, such as guide/actors" },
          heading: { type: "string", minLength: 1, maxLength: 200, description: "Only the section of this heading" },
        },
        required: ["page"],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ args }) => partOf(pageCalled(args.page), args.heading),
  );

  for (const { name, title, summary, text } of pages)
    server.resources.register(
      {
        name: name.replaceAll("/", "_"),
        title,
        description: summary,
        uri: uriOf(name),
        mimeType: "text/markdown",
        size: Buffer.byteLength(text),
      },
      () => text,
    );

  server.prompts.register(
    {
      name: "write_an_actor",
      title: "Write an actor",
      description: "Asks the model to write an actor for a task, and to read the documentation first.",
      arguments: [{ name: "task", description: "What the actor is for", required: true }],
    },
    ({ args }) =>
      [
        `Write a Troupe actor in TypeScript for this: ${args.task}`,
        "Before you write, call search of this server with questions about what you need (state, tools, links between actors, timers, tests), and read the pages it names.",
        "Export the actor, describe every tool for a model, refuse what the state does not allow with a reason, and write a test with troupe/testing.",
      ].join("\n\n"),
  );

  server.prompts.register(
    {
      name: "explain_an_error",
      title: "Explain an error",
      description: "Asks the model to explain an error of Troupe and how to fix it, from the documentation.",
      arguments: [{ name: "error", description: "The error's code or text", required: true }],
    },
    ({ args }) =>
      `Troupe reported this:\n\n${args.error}\n\nRead the page guide/errors of this server, and search for the code or the words of the message. Then say what happened, why, and what to change.`,
  );

  return server;
};
