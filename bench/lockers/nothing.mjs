// Excludes no caller: proof that overlaps, sold-out goods and wake-ups are counted. Not in any
// table.
export const label = 'nothing';

const turn = () => new Promise((resolve) => setImmediate(resolve));

export async function create() {
  return {
    acquire: async () => {
      await turn();
      return turn;
    },
  };
}
