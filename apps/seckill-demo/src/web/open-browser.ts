import { spawn } from 'node:child_process';

/** Opens the address in the visitor's browser, if there is one. The terminal shows the address as well. */
export function openBrowser(url: string, environment: NodeJS.ProcessEnv): void {
  const command = commandOn(process.platform, environment);
  if (command === undefined || environment['CI'] !== undefined) return;
  const [program = '', ...args] = command;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

function commandOn(
  platform: NodeJS.Platform,
  environment: NodeJS.ProcessEnv,
): string[] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['cmd', '/c', 'start', ''];
  const hasScreen = Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
  return hasScreen ? ['xdg-open'] : undefined;
}
