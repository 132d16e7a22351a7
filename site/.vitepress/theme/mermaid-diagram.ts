import { useData } from 'vitepress';
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue';
import library from '@mermaid-js/tiny/dist/mermaid.tiny.js?url';

interface Mermaid {
  initialize(options: object): void;
  render(id: string, source: string): Promise<{ svg: string }>;
}

const LIGHT = {
  ...{ background: '#ffffff', primaryColor: '#e3eef9', primaryBorderColor: '#8b919c' },
  ...{ primaryTextColor: '#1b1d21', lineColor: '#5a606b', textColor: '#1b1d21' },
  ...{ noteBkgColor: '#f7f7f5', noteBorderColor: '#8b919c', noteTextColor: '#1b1d21' },
  ...{ clusterBkg: '#f7f7f5', clusterBorder: '#8b919c', edgeLabelBackground: '#ffffff' },
};
const DARK = {
  ...{ background: '#1b1b1f', primaryColor: '#1c3247', primaryBorderColor: '#737b87' },
  ...{ primaryTextColor: '#e7e9ec', lineColor: '#a3aab5', textColor: '#e7e9ec' },
  ...{ noteBkgColor: '#2e3238', noteBorderColor: '#737b87', noteTextColor: '#e7e9ec' },
  ...{ clusterBkg: '#202127', clusterBorder: '#737b87', edgeLabelBackground: '#1b1b1f' },
  darkMode: true,
};

let loading: Promise<void> | undefined;

/** Mermaid is a script that sets a global variable, so it cannot be imported. */
function load(): Promise<void> {
  return (loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.addEventListener('load', () => resolve());
    script.addEventListener('error', reject);
    script.src = library;
    document.head.append(script);
  }));
}

/** The source of a diagram, until it is drawn. */
export default defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const source = decodeURIComponent(props.source);
    const id = `diagram-${useId()}`;
    const drawing = ref('');

    async function draw(): Promise<void> {
      await load();
      const { mermaid } = globalThis as unknown as { mermaid: Mermaid };
      mermaid.initialize({
        startOnLoad: false,
        suppressErrorRendering: true,
        theme: 'base',
        themeVariables: isDark.value ? DARK : LIGHT,
        fontFamily: getComputedStyle(document.body).fontFamily,
      });
      drawing.value = (await mermaid.render(id, source)).svg;
    }

    onMounted(() => {
      watch(isDark, draw, { immediate: true });
    });
    return () =>
      drawing.value === ''
        ? h('pre', { class: 'diagram', tabindex: 0 }, source)
        : h('div', { class: 'diagram', tabindex: 0, innerHTML: drawing.value });
  },
});
