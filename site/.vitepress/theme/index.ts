/// <reference types="vite/client" />
// Owns: the look of the site. Does not own: its layout, which is VitePress's without its web fonts.
import theme from "vitepress/theme-without-fonts";
// oxlint-disable-next-line import/no-unassigned-import -- how Vite is given a style sheet
import "./style.css";

export default theme;
