import { english } from './texts.en.js';
import type { Language, Texts } from './texts.js';
import { chinese } from './texts.zh.js';

export const texts: Readonly<Record<Language, Texts>> = { en: english, zh: chinese };
