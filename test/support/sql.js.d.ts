/** The specs use these parts of sql.js: SQLite as WebAssembly, in memory. */
declare module 'sql.js' {
  export type Value = string | number | null;

  export interface Database {
    run(text: string, values?: readonly Value[]): Database;
    exec(text: string, values?: readonly Value[]): { columns: string[]; values: Value[][] }[];
    getRowsModified(): number;
    close(): void;
  }

  export default function initSqlJs(): Promise<{ Database: new () => Database }>;
}
