// Owns: light and dark. Does not own: the colours (style.css).
import { computed, effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
const NAME = "troupe-console-theme";
const isTheme = (value: unknown): value is Theme => value === "system" || value === "light" || value === "dark";
const stored = localStorage.getItem(NAME);

export const theme = signal<Theme>(isTheme(stored) ? stored : "system");

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(darkSystem.matches);
darkSystem.addEventListener("change", ({ matches }) => (systemIsDark.value = matches));

/** Which of the two is visible. */
export const isDark = computed(() => (theme.value === "system" ? systemIsDark.value : theme.value === "dark"));

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(NAME, theme.value);
});

export const cycleTheme = (): void => {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
};
