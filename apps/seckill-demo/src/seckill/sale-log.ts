/** The tutorial's three log lines. `--tutorial` prints them; the plain server does not. */
export interface SaleLog {
  sold(remaining: number): void;
  soldOut(): void;
  busy(): void;
}

export const SALE_LOG = Symbol('SaleLog');

const quiet = (): void => undefined;
export const QUIET_LOG: SaleLog = { sold: quiet, soldOut: quiet, busy: quiet };

export function tutorialLog(print: (line: string) => void): SaleLog {
  return {
    sold: (remaining) => {
      print(`扣减成功，剩余库存：${remaining}`);
    },
    soldOut: () => {
      print('扣减失败，剩余库存不足');
    },
    busy: () => {
      print('获取锁失败，请重新尝试');
    },
  };
}
