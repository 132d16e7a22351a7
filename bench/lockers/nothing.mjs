// Excludes no caller, to test that overlaps and oversold goods are counted. In no table.
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
