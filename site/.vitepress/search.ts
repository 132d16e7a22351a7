// These two go into the pages as their own texts, so they name nothing of this file.

/**
 * Pairs of Chinese signs, since Chinese has no spaces. Pages have each sign alone, too, and the parts
 * of names in code.
 */
export function tokenize(text: string, field?: string): string[] {
  return [...text.matchAll(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+/gu)].flatMap(
    ([word]) => {
      // A search has no field: LockTimeoutError finds this name, and timeout finds it as well.
      const isSearch = field === undefined;
      if (/^\p{Script=Han}{2}/u.test(word)) {
        const signs = [...word];
        const pairs = signs.slice(1).map((sign, index) => `${signs[index]}${sign}`);
        return isSearch ? pairs : [...signs, ...pairs];
      }
      if (isSearch) return word;
      const parts = word.match(/\p{Lu}?[\p{Ll}\p{N}]+|\p{Lu}+(?!\p{Ll})/gu) ?? [];
      return parts.length > 1 ? [word, ...parts] : word;
    },
  );
}

/** The tables of options first, then pages and errors, then sections and the API. */
export function boostDocument(id: string, _term: string, fields?: Record<string, unknown>): number {
  const isPage = Array.isArray(fields?.['titles']) && fields['titles'].length === 0;
  if (id.includes('/api/')) return isPage ? 1 : 0.25;
  if (/#(options|选项)$/.test(id)) return 3;
  return isPage || /#(lock_\w+|lease_lost)$/.test(id) ? 2 : 1;
}

export const chineseWords = {
  theme: {
    outline: { label: '本页目录', level: [2, 3] as [number, number] },
    docFooter: { prev: '上一页', next: '下一页' },
    sidebarMenuLabel: '目录',
    returnToTopLabel: '回到顶部',
    langMenuLabel: '切换语言',
    darkModeSwitchLabel: '外观',
    lightModeSwitchTitle: '切换到浅色模式',
    darkModeSwitchTitle: '切换到深色模式',
    skipToContentLabel: '跳到正文',
    notFound: {
      title: '没有这个页面',
      quote: '地址可能已经改变。',
      linkLabel: '回到首页',
      linkText: '回到首页',
    },
  },
  search: {
    button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
    modal: {
      displayDetails: '显示详细列表',
      resetButtonTitle: '清除',
      backButtonTitle: '关闭搜索',
      noResultsText: '没有结果：',
      footer: {
        selectText: '打开',
        selectKeyAriaLabel: '回车',
        navigateText: '切换',
        navigateUpKeyAriaLabel: '上箭头',
        navigateDownKeyAriaLabel: '下箭头',
        closeText: '关闭',
        closeKeyAriaLabel: 'Esc',
      },
    },
  },
};
