// A plugin of TypeDoc: the pages name the error of each "@throws {LockTimeoutError} …", with a link.
import { Converter, ReflectionKind } from 'typedoc';

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const classes = project.getReflectionsByKind(ReflectionKind.Class);
    const comments = Object.values(project.reflections).flatMap(({ comment }) => comment ?? []);
    for (const { blockTags } of comments) {
      for (const { tag, typeAnnotation, content } of blockTags) {
        const name = typeAnnotation?.replace(/^\{|\}$/g, '');
        if (tag !== '@throws' || name === undefined) continue;
        const target = classes.find((one) => one.name === name);
        /** @type {import('typedoc').CommentDisplayPart} */
        const shown = target
          ? { kind: 'inline-tag', tag: '@link', text: name, target }
          : { kind: 'code', text: `\`${name}\`` };
        content.unshift(shown, { kind: 'text', text: ': ' });
      }
    }
  });
}
