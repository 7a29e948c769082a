"""Human review of candidates, published questions and wrong answers: decisions, agreement, and the web application."""
