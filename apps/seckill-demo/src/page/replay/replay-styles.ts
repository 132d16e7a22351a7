import { css } from 'lit';

export const replayStyles = css`
  header {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px 14px;
    margin-bottom: 14px;
  }
  header h3 {
    margin: 0;
    font-size: 1.0625rem;
  }
  header [role='status'] {
    font-weight: 600;
    margin-inline-end: auto;
  }
  .columns {
    display: grid;
    grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr);
    gap: 28px;
  }
  .picture,
  .beside {
    min-width: 0;
  }
  key-panel {
    margin-top: 22px;
  }
  @media (max-width: 900px) {
    .columns {
      grid-template-columns: minmax(0, 1fr);
    }
  }
`;
