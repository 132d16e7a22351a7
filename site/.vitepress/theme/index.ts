import { computed, defineComponent, h, provide } from 'vue';
import { dataSymbol, onContentUpdated, useData } from 'vitepress';
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

/** From a page that only one language has, the menu of languages leads to the home page. */
const Layout = defineComponent(() => {
  const data = useData();
  const i18nRouting = computed(() => data.frontmatter.value.i18nRouting ?? true);
  const theme = computed(() => ({ ...data.theme.value, i18nRouting: i18nRouting.value }));
  provide(dataSymbol, { ...data, theme });
  // The home page of the default theme has no main part.
  onContentUpdated(() => document.querySelector('.VPHome')?.setAttribute('role', 'main'));
  return () => h(DefaultTheme.Layout);
});

export default {
  extends: DefaultTheme,
  Layout,
} satisfies Theme;
