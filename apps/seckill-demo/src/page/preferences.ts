import type { Language } from '../arena/texts.js';
import { Observable } from './observable.js';

export type Theme = 'light' | 'dark';

/** Some private windows refuse storage; then the page remembers nothing. */
function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It holds for this visit.
  }
}

/** The visitor's settings for the page, kept for the next visit. */
export class Preferences extends Observable {
  #language: Language;
  #theme: Theme | undefined;

  constructor() {
    super();
    this.#language = firstLanguage();
    const theme = remembered('arena-theme');
    this.#theme = theme === 'light' || theme === 'dark' ? theme : undefined;
    this.#apply();
  }

  get language(): Language {
    return this.#language;
  }

  set language(language: Language) {
    this.#language = language;
    remember('arena-language', language);
    this.#apply();
    this.changed();
  }

  /** The visible theme: the chosen one, or that of the system. */
  get theme(): Theme {
    return this.#theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  }

  set theme(theme: Theme) {
    this.#theme = theme;
    remember('arena-theme', theme);
    this.#apply();
    this.changed();
  }

  get isStill(): boolean {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  #apply(): void {
    const root = document.documentElement;
    root.lang = this.#language === 'zh' ? 'zh-CN' : 'en';
    if (this.#theme !== undefined) root.dataset['theme'] = this.#theme;
  }
}

/** `?lang=` overrides the earlier choice: a link decides what it shows. */
function firstLanguage(): Language {
  const wish =
    new URLSearchParams(location.search).get('lang') ??
    remembered('arena-language') ??
    navigator.language;
  return wish.startsWith('zh') ? 'zh' : 'en';
}

export const preferences = new Preferences();
