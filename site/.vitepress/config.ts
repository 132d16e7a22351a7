import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import type { DefaultTheme } from 'vitepress';
import { findPages, sectionsOf } from '../pages.mjs';
import type { Language } from '../pages.mjs';
import { apiSidebar } from '../api.mjs';
import { anchorOf, sentenceOf } from '../markdown.mjs';
import { BASE, REPOSITORY } from '../settings.mjs';
import { extendMarkdown } from './markdown.js';
import { boostDocument, chineseWords, tokenize } from './search.js';

const folder = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const pages = findPages();
const LOCK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3b82c4" stroke-width="2.5"><rect x="4" y="11" width="16" height="10" rx="2"/><path d="M8 11V7a4 4 0 0 1 8 0v4"/></svg>`;

function descriptionIn(language: Language): string {
  const home = pages.find((page) => page.name === 'index' && page.language === language);
  return sentenceOf(home?.text ?? '');
}

function sectionsIn(language: Language) {
  return sectionsOf(pages, language).map((section) => ({
    text: section.title,
    items: section.pages.map((page) => ({
      text: page.language === language ? page.title : `${page.title} <small lang="en">EN</small>`,
      link: page.address,
    })),
  }));
}

function sidebarIn(language: Language): DefaultTheme.SidebarItem[] {
  return sectionsIn(language).slice(0, -1);
}

function moreIn(language: Language): DefaultTheme.NavItem[] {
  return sectionsIn(language).slice(-1);
}

export default defineConfig({
  srcDir: folder('dist/site-pages'),
  outDir: folder('dist/site'),
  cacheDir: folder('node_modules/.cache/vitepress'),
  base: BASE,
  cleanUrls: true,
  metaChunk: true,
  title: 'nestjs-redis-lock',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(LOCK)}` }]],
  // The replay is copied beside the pages.
  ignoreDeadLinks: [/^\/arena\//],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config: extendMarkdown,
  },
  locales: {
    root: {
      label: 'English',
      lang: 'en',
      description: descriptionIn('en'),
      themeConfig: {
        nav: [
          { text: 'Docs', link: '/quick-start' },
          { text: 'API', link: '/api/' },
          { text: 'Arena', link: '/arena/?lang=en', target: '_self', noIcon: true },
          { text: 'Lessons', link: '/arena/?lang=en#/lesson/1', target: '_self', noIcon: true },
          {
            text: 'Playground',
            link: '/arena/?lang=en#/playground',
            target: '_self',
            noIcon: true,
          },
          ...moreIn('en'),
        ],
        sidebar: { '/api/': apiSidebar('en'), '/': sidebarIn('en') },
      },
    },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      description: descriptionIn('zh'),
      themeConfig: {
        nav: [
          { text: '文档', link: '/zh/quick-start' },
          { text: 'API', link: '/zh/api/' },
          { text: '秒杀擂台', link: '/arena/?lang=zh', target: '_self', noIcon: true },
          { text: '八课', link: '/arena/?lang=zh#/lesson/1', target: '_self', noIcon: true },
          { text: '实验台', link: '/arena/?lang=zh#/playground', target: '_self', noIcon: true },
          ...moreIn('zh'),
        ],
        sidebar: { '/zh/api/': apiSidebar('zh'), '/zh/': sidebarIn('zh') },
        ...chineseWords.theme,
      },
    },
  },
  themeConfig: {
    outline: [2, 3],
    ...(REPOSITORY === '' ? {} : { socialLinks: [{ icon: 'github', link: REPOSITORY }] }),
    search: {
      provider: 'local',
      options: {
        locales: { zh: { translations: chineseWords.search } },
        miniSearch: {
          options: { tokenize },
          searchOptions: { combineWith: 'AND', boostDocument },
        },
      },
    },
  },
});
