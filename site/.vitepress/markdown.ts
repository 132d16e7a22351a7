import type { MarkdownRenderer } from 'vitepress';
import { diagramOf } from '../diagrams.mjs';

export function extendMarkdown(md: MarkdownRenderer): void {
  const { code_inline: code, fence } = md.renderer.rules;
  // Vue would evaluate braces.
  md.renderer.rules.code_inline = (...args) =>
    (code?.(...args) ?? '').replace('<code', '<code v-pre');
  // The build has drawn the blocks of mermaid.
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info = '', content = '' } = tokens[index] ?? {};
    if (info.trim() !== 'mermaid') return fence?.(tokens, index, ...rest) ?? '';
    return diagramOf(content);
  };
}
