export { ApiLockResponses } from './integrations/swagger/api-lock-responses.js';
