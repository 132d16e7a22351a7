import { css } from 'lit';

export const pageStyles = css`
  :host {
    max-width: 1240px;
    margin: 0 auto;
    padding: 0 clamp(14px, 3vw, 32px) 80px;
  }
  header {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: 8px 20px;
    padding: 14px 0;
  }
  .brand {
    margin: 0;
  }
  .brand span {
    font-size: 0.8125rem;
    margin-inline-start: 6px;
  }
  .switches {
    display: flex;
    gap: 8px;
  }
  nav {
    display: flex;
    flex-wrap: wrap;
    gap: 2px 16px;
    margin-inline-start: auto;
    font-size: 0.875rem;
  }
  nav a {
    color: var(--muted);
    padding: 6px 0;
    text-decoration: none;
  }
  nav a:hover {
    color: var(--text);
    text-decoration: underline;
  }
  @media (max-width: 700px) {
    nav {
      order: 3;
      width: 100%;
      justify-content: space-between;
      gap: 2px 8px;
      font-size: 0.8125rem;
    }
  }
  h1 {
    margin: 6px 0 4px;
    font-size: clamp(1.625rem, 3.4vw, 2.375rem);
    font-weight: 720;
    letter-spacing: -0.02em;
    line-height: 1.15;
    text-wrap: balance;
  }
  section {
    margin-bottom: 56px;
  }
  h1 + section:not(#duel) {
    margin-top: 20px;
  }
  #duel {
    margin-bottom: 32px;
  }
  #duel > p {
    max-width: none;
  }
`;
