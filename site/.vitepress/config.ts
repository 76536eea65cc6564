// Owns: how the site is built. Does not own: its pages (tools/stage.ts), their order (tools/pages.ts), its look (theme/).
import { join } from "node:path";
import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import type { DefaultTheme } from "vitepress";
import { repositoryUrl, sidebar } from "../tools/pages.ts";

const repository = repositoryUrl();
const base = process.env["DOCS_BASE"] ?? "/";

/** Guides answer questions; the reference, records and logs mention every word. VitePress runs it in the browser, so it uses nothing from here. */
const boostDocument = (id: string): number => {
  if (/\/(?:design|decisions|project)\//u.test(id)) return 0.2;
  return /\/(?:reference|benchmarks)/u.test(id) ? 0.4 : 1;
};

/** Words that are in every question find every page. VitePress runs this in the browser, too. */
const questionWord = (term: string): string | null =>
  /^(?:an?|and|are|can|do|does|for|from|how|i|in|is|it|my|of|on|or|the|to|what|when|where|which|with|you)$/iu.test(term)
    ? null
    : term.toLowerCase();

/** What search indexes of a page. Colours in code are left out: they take longer than all else. */
const renderForSearch: NonNullable<DefaultTheme.LocalSearchOptions["_render"]> = (text, env, md) => {
  const { highlight } = md.options;
  md.options.highlight = null;
  try {
    const html = md.render(text, env);
    return env.frontmatter?.["search"] === false ? "" : html;
  } finally {
    md.options.highlight = highlight ?? null;
  }
};

export default defineConfig({
  title: "Troupe",
  description: "MCP servers that have state: durable actors whose tools, resources and prompts change with it.",
  lang: "en",
  base,
  srcDir: "pages",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}logo.svg` }]],
  // The anchors are GitHub's, so a link works in both places.
  markdown: { languageAlias: { wit: "rust" }, anchor: { slugify: (text) => slug(text) } },
  vite: { publicDir: join(import.meta.dirname, "../public"), build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    logo: "/logo.svg",
    nav: [
      { text: "Guides", link: "/guide/", activeMatch: "^/(guide|tutorial|recipes)/" },
      { text: "Reference", link: "/reference/troupe", activeMatch: "^/reference/" },
      { text: "Changelog", link: "/project/changelog" },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boostDocument, processTerm: questionWord } }, _render: renderForSearch },
    },
    ...(repository === undefined ? {} : { socialLinks: [{ icon: "github", link: repository }] }),
    footer: { message: "Apache-2.0" },
  },
});
