import { preferences } from './preferences.js';

/** Scrolls after all parts have been drawn: before that, the page may be too short. */
export function scrollToPart(part: Element): void {
  setTimeout(() => {
    part.scrollIntoView({ behavior: preferences.isStill ? 'instant' : 'smooth' });
  });
}
