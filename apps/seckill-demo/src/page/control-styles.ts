import { css } from 'lit';

/** The controls of a player. On a phone the buttons have only their signs. */
export const controlStyles = css`
  input {
    min-width: 0;
    padding: 0;
    border: 0;
    accent-color: var(--accent);
  }
  @media (max-width: 500px) {
    .word {
      display: none;
    }
    select {
      padding: 4px;
    }
  }
`;
