// These two go into the pages as their own texts, so they name nothing of this file.

/** Intl finds the words of Chinese, which has no spaces. */
export function tokenize(text: string): string[] {
  if (!('Segmenter' in Intl)) return text.match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? [];
  const words = new Intl.Segmenter('zh', { granularity: 'word' }).segment(text);
  return [...words].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
}

/** A page before its sections, and a guide before the API. */
export function boostDocument(id: string, _term: string, fields?: Record<string, unknown>): number {
  const isPage = Array.isArray(fields?.['titles']) && fields['titles'].length === 0;
  return (isPage ? 2 : 1) * (id.includes('/api/') ? 0.5 : 1);
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
