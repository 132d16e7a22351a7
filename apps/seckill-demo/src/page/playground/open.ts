const PLAYGROUND = /^#\/playground(\?|$)/;

/** Shows the playground in the place of the arena, at its address alone. Loads it then. */
export function followAddress(): void {
  const show = async (): Promise<void> => {
    if (PLAYGROUND.test(location.hash)) await import('./playground-page.js');
    // The visitor may have left meanwhile.
    const isOpen = PLAYGROUND.test(location.hash);
    const arena = document.querySelector<HTMLElement>('arena-page');
    if (arena !== null) arena.style.display = isOpen ? 'none' : '';
    const page = document.querySelector('playground-page');
    if (!isOpen) page?.remove();
    else if (page === null) document.body.append(document.createElement('playground-page'));
  };
  addEventListener('hashchange', () => void show());
  void show();
}
